// Adapters/ICETransport
