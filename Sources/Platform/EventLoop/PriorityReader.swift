internal import CGLib

/// Reads a descriptor before the GLib sources that wait for it. Confined to its loop. Lives until `close()`.
///
/// Either a GLib source of another library (libnice's for its sockets) waits for the descriptor, or the reader's own.
/// GLib's sources for sockets allocate for each read; a reader that empties the descriptor avoids that.
public final class PriorityReader {
    public let descriptor: Int32
    private let loop: EventLoop
    /// - Returns: true if the descriptor is empty.
    let read: (UnsafeMutableRawBufferPointer) -> Bool
    /// Waits for the descriptor; nil if another source does.
    private var source: UnsafeMutablePointer<GSource>?

    fileprivate init(
        _ loop: EventLoop, _ descriptor: Int32, waits: Bool,
        _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool
    ) {
        self.loop = loop
        self.descriptor = descriptor
        self.read = read
        guard waits else { return }
        source = cglib_watch_new(descriptor)
        g_source_attach(source, loop.context)
    }

    /// Ends the reader; it is not called again. Does nothing if it is closed already or another reader took the
    /// descriptor.
    public func close() {
        loop.preconditionOnLoop()
        loop.remove(self)
        guard let source else { return }
        self.source = nil
        g_source_destroy(source)
        g_source_unref(source)
    }
}

extension EventLoop {
    /// Makes a reader, which replaces an earlier one of the same descriptor. Call it on the loop, as all methods of the
    /// reader.
    /// - Parameters:
    ///   - waits: no other GLib source waits for the descriptor. It must stay open until the reader is closed.
    ///   - read: called in each iteration in which the descriptor is readable and has no error. The buffer of 65,536
    ///     bytes is lent for the call. It returns true to hide the descriptor from GLib's sources for this iteration.
    ///     It may close the reader.
    public func makePriorityReader(
        _ descriptor: Int32, waits: Bool = false, _ read: @escaping (UnsafeMutableRawBufferPointer) -> Bool
    ) -> PriorityReader {
        preconditionOnLoop()
        let reader = PriorityReader(self, descriptor, waits: waits, read)
        add(reader)
        return reader
    }
}
