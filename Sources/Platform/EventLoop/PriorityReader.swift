/// Reads a descriptor before the GLib sources that wait for it. Confined to its loop. Lives until `close()`.
///
/// It polls nothing itself: a GLib source (libnice's for its sockets) has to wait for the descriptor. GLib's own
/// sources allocate for each read; a reader that empties the descriptor avoids that.
public final class PriorityReader {
    public let descriptor: Int32
    private let loop: EventLoop
    /// - Returns: true if the descriptor is empty.
    let read: (UnsafeMutableRawBufferPointer) -> Bool

    fileprivate init(_ loop: EventLoop, _ descriptor: Int32, _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool)
    {
        self.loop = loop
        self.descriptor = descriptor
        self.read = read
    }

    /// Ends the reader; it is not called again. Does nothing if it is closed already or another reader took the
    /// descriptor.
    public func close() {
        loop.preconditionOnLoop()
        loop.remove(self)
    }
}

extension EventLoop {
    /// Makes a reader, which replaces an earlier one of the same descriptor. Call it on the loop, as all methods of the
    /// reader.
    /// - Parameter read: called in each iteration in which the descriptor is readable and has no error. The buffer of
    ///   65,536 bytes is lent for the call. It returns true to hide the descriptor from GLib's sources for this
    ///   iteration. It may close the reader.
    public func makePriorityReader(
        _ descriptor: Int32, _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool
    ) -> PriorityReader {
        preconditionOnLoop()
        let reader = PriorityReader(self, descriptor, read)
        add(reader)
        return reader
    }
}
