// Nothing: the target exists for pkg-config's flags, and must build where Xft is not installed.
