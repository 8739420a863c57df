// Nothing: the target exists for pkg-config's flags, and must build where GStreamer is not installed.
