// Adapters/X11Capture
