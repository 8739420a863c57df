// Peer/PeerRuntime
