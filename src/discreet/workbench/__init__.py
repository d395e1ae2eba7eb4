"""The web pages on which a release is decided: live pictures, exact numbers, a file and a report to hand on.

A page (`*_page`) only draws; what it shows is computed in other processes (`tasks`, by functions elsewhere in
the package) from the session's state alone. NiceGUI is imported by the pages, the frame, the controls and the
server, never by what other processes run.
"""
