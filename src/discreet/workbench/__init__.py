"""The web pages on which a release is decided: live pictures, exact numbers, a file and a report to hand on.

What a page shows is computed by functions of the session's `State` alone (`state`, `*_view`, `words`), which
need no browser; the pages themselves (`*_page`) only draw it. NiceGUI is imported by the pages and the
server, never by the views.
"""
