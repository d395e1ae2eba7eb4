"""The web pages for deciding on a release: live charts, exact numbers, a file and a report to hand on.

A page (`*_page`) only draws. What it shows is computed in other processes (`tasks`, which call functions
elsewhere in the package) from the session's state alone. The pages, the frame, the controls and the server
import NiceGUI; code that runs in other processes never does.
"""
