internal import EventLoop

/// All UDP sockets of an agent, once there is a pair. They are read before libnice reads them, until the agent closes.
struct LocalSockets {
    private(set) var all: [LocalSocket] = []
    private var readers: [PriorityReader] = []

    subscript(descriptor: Int32) -> LocalSocket? { all.first { $0.descriptor == descriptor } }

    mutating func replace(with sockets: [LocalSocket], _ makeReader: (Int32) -> PriorityReader) {
        for reader in readers { reader.close() }
        all = sockets
        readers = sockets.map { makeReader($0.descriptor) }
    }
}
