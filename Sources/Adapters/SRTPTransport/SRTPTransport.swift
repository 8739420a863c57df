// Adapters/SRTPTransport
