// Adapters/TestSource
