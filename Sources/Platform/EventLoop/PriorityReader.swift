/// Reads a descriptor before the GLib sources that wait for it do. Confined to its loop. Lives until `close()`.
///
/// It polls nothing itself: some source of GLib's (libnice's for its sockets) has to wait for the descriptor. GLib's
/// own sources allocate for each read; a reader that takes everything itself spares that.
public final class PriorityReader {
    public let descriptor: Int32
    private let loop: EventLoop
    /// - Returns: true if nothing is left for GLib's sources.
    let read: (UnsafeMutableRawBufferPointer) -> Bool

    fileprivate init(_ loop: EventLoop, _ descriptor: Int32, _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool)
    {
        self.loop = loop
        self.descriptor = descriptor
        self.read = read
    }

    /// It is not called again. A second call does nothing, nor does one after another reader took the descriptor.
    public func close() {
        loop.preconditionOnLoop()
        loop.remove(self)
    }
}

extension EventLoop {
    /// On the loop only, as all of the reader. It replaces an earlier reader of the same descriptor.
    /// - Parameter read: called in each turn in which the descriptor can be read, and has no error. The room, 65,536
    ///   bytes, is lent for the call. It returns true to hide the descriptor from GLib's sources for this turn. It may
    ///   close the reader.
    public func readFirst(
        _ descriptor: Int32, _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool
    ) -> PriorityReader {
        preconditionOnLoop()
        let reader = PriorityReader(self, descriptor, read)
        add(reader)
        return reader
    }
}
