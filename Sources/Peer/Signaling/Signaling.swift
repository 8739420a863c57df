// Peer/Signaling
