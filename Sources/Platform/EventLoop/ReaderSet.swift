internal import CGLib

/// The descriptors of many sockets, for which the loop waits through one epoll descriptor. Confined to its loop.
///
/// GLib looks at each of its descriptors in each iteration. With this set, an iteration costs what the readable ones
/// cost.
public final class ReaderSet {
    private unowned let loop: EventLoop
    private var readers: [Int32: () -> Bool] = [:]
    /// Open while there are readers: it keeps the loop alive.
    private var epoll: (descriptor: Int32, reader: PriorityReader)?
    /// Those that are readable in this iteration.
    private var readable = [Int32](repeating: -1, count: 64)

    fileprivate init(_ loop: EventLoop) { self.loop = loop }

    /// Adds a descriptor, which must stay open until it is removed.
    /// - Parameter read: called in each iteration in which the descriptor is readable. It returns true if it has
    ///   emptied it; else it is called again in the next iteration. It may add and remove descriptors.
    /// - Returns: false if the kernel does not take it.
    public func add(_ descriptor: Int32, _ read: @escaping () -> Bool) -> Bool {
        loop.preconditionOnLoop()
        if epoll == nil {
            let opened = cglib_epoll_new()
            guard opened >= 0 else { return false }
            epoll = (
                opened, loop.makePriorityReader(opened, waits: true) { [weak self] _ in self?.readAll() ?? true }
            )
        }
        guard let epoll, cglib_epoll_add(epoll.descriptor, descriptor) == 0 else {
            closeIfEmpty()
            return false
        }
        readers[descriptor] = read
        return true
    }

    /// Removes a descriptor. Does nothing if it is not in the set.
    public func remove(_ descriptor: Int32) {
        loop.preconditionOnLoop()
        guard let epoll, readers.removeValue(forKey: descriptor) != nil else { return }
        cglib_epoll_remove(epoll.descriptor, descriptor)
        closeIfEmpty()
    }

    private func closeIfEmpty() {
        guard readers.isEmpty, let epoll else { return }
        epoll.reader.close()
        cglib_close(epoll.descriptor)
        self.epoll = nil
    }

    /// Calls the readers, each once.
    /// - Returns: true if there is nothing left to read.
    private func readAll() -> Bool {
        var isEmpty = true
        guard let epoll else { return true }
        let count = Int(cglib_epoll_wait(epoll.descriptor, &readable, Int32(readable.count)))
        for index in 0..<count {
            // One that another has removed meanwhile is gone.
            if let read = readers[readable[index]], !read() { isEmpty = false }
        }
        return isEmpty && count < readable.count
    }
}

extension EventLoop {
    /// The set of all sockets of the loop that are many of a kind. Call it on the loop.
    public var readerSet: ReaderSet {
        preconditionOnLoop()
        return shared { ReaderSet(self) }
    }
}
