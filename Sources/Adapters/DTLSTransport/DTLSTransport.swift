// Adapters/DTLSTransport
