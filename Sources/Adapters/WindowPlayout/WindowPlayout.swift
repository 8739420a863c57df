// Adapters/WindowPlayout
