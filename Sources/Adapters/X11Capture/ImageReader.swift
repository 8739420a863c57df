internal import CXCB
internal import Glibc
internal import MediaCore

/// Reads rectangles of the root window through shared memory (MIT-SHM 1.2), or over the socket without it.
/// All rectangles are requested at once. The replies are taken in order while the server still copies the later ones.
///
/// Only xcb allocates for a rectangle: its reply and two list nodes. An unchecked request saves a third node; its error
/// arrives as an event.
final class ImageReader {
    /// A rectangle that was requested.
    private struct Pending {
        var rect: PixelRect
        var sequence: UInt32
        /// Offset in the segment, in bytes.
        var offset: Int
    }

    /// The most bytes to request at once over the socket; more would only take memory.
    private static let largestSocketRead = 1 << 20

    private let connection: X11Connection
    private var segment: SharedSegment?
    private var pending: [Pending] = []
    /// Totals since the start, for tests.
    private(set) var requests = 0
    private(set) var bytes = 0

    init(_ connection: X11Connection, size: PixelSize) {
        self.connection = connection
        resize(size)
    }

    var usesSharedMemory: Bool { segment != nil }

    func resize(_ size: PixelSize) {
        segment = nil
        // Includes padding to 64 bytes for many rectangles.
        segment = SharedSegment(connection, byteCount: size.width * size.height * 4 + 64 * 1024)
    }

    /// Detaches the segment. Nothing can be read afterwards.
    func close() { segment = nil }

    /// Requests all rectangles and calls `body` for each with the rectangle, its first pixel and its stride in bytes.
    /// - Returns: false if the server refused, because the screen size has changed.
    func read(_ rects: [PixelRect], _ body: (PixelRect, UnsafeRawPointer, Int) -> Void) throws(SourceFailure) -> Bool {
        var isComplete = true
        var next = 0
        while next < rects.count {
            let first = next
            next = segment.map { request(rects, from: first, of: $0) } ?? request(rects, from: first)
            for pending in pending {
                // Every reply is taken, as xcb would keep it otherwise.
                let isGood = segment != nil ? take(pending, body) : takeFromSocket(pending, body)
                isComplete = isComplete && isGood
            }
            pending.removeAll(keepingCapacity: true)
        }
        if !isComplete { try connection.checkAlive() }
        return isComplete
    }

    /// - Returns: the index of the first rectangle that does not fit into the segment.
    private func request(_ rects: [PixelRect], from first: Int, of segment: SharedSegment) -> Int {
        var offset = 0
        for index in first..<rects.count {
            let rect = rects[index]
            let length = rect.width * rect.height * 4
            if offset + length > segment.byteCount && index > first { return index }
            let cookie = xcb_shm_get_image_unchecked(
                connection.raw, connection.root, Int16(rect.x), Int16(rect.y), UInt16(rect.width), UInt16(rect.height),
                ~0, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment.id, UInt32(offset))
            pending.append(Pending(rect: rect, sequence: cookie.sequence, offset: offset))
            requests += 1
            bytes += length
            offset = (offset + length + 63) & ~63
        }
        return rects.count
    }

    private func take(_ pending: Pending, _ body: (PixelRect, UnsafeRawPointer, Int) -> Void) -> Bool {
        let cookie = xcb_shm_get_image_cookie_t(sequence: pending.sequence)
        guard let reply = xcb_shm_get_image_reply(connection.raw, cookie, nil) else { return false }
        free(reply)
        guard let segment else { return false }
        body(pending.rect, segment.bytes + pending.offset, pending.rect.width * 4)
        return true
    }

    private func request(_ rects: [PixelRect], from first: Int) -> Int {
        var total = 0
        for index in first..<rects.count {
            let rect = rects[index]
            let length = rect.width * rect.height * 4
            if total + length > Self.largestSocketRead && index > first { return index }
            let cookie = xcb_get_image_unchecked(
                connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), connection.root, Int16(rect.x),
                Int16(rect.y), UInt16(rect.width), UInt16(rect.height), ~0)
            pending.append(Pending(rect: rect, sequence: cookie.sequence, offset: 0))
            requests += 1
            bytes += length
            total += length
        }
        return rects.count
    }

    private func takeFromSocket(_ pending: Pending, _ body: (PixelRect, UnsafeRawPointer, Int) -> Void) -> Bool {
        let cookie = xcb_get_image_cookie_t(sequence: pending.sequence)
        guard let reply = xcb_get_image_reply(connection.raw, cookie, nil) else { return false }
        defer { free(reply) }
        let rect = pending.rect
        guard let data = xcb_get_image_data(reply),
            Int(xcb_get_image_data_length(reply)) >= rect.width * rect.height * 4
        else { return false }
        body(rect, data, rect.width * 4)
        return true
    }
}

/// Shared memory that the X server writes into. It is a memory file whose descriptor is passed to the server, so it has
/// no name and nobody else can attach it.
final class SharedSegment {
    let id: xcb_shm_seg_t
    let bytes: UnsafeMutableRawPointer
    let byteCount: Int
    private let connection: X11Connection

    /// Takes one round trip.
    /// - Returns: nil if the server cannot share memory, because it is too old or on another machine.
    init?(_ connection: X11Connection, byteCount: Int) {
        guard connection.shm != nil else { return nil }
        let file = cxcb_open_memory("share-screen")
        guard file >= 0 else { return nil }
        guard ftruncate(file, byteCount) == 0,
            let memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), memory != MAP_FAILED
        else {
            Glibc.close(file)
            return nil
        }
        id = xcb_generate_id(connection.raw)
        // xcb closes the descriptor.
        let cookie = xcb_shm_attach_fd_checked(connection.raw, id, file, 0)
        if let error = xcb_request_check(connection.raw, cookie) {
            free(error)
            munmap(memory, byteCount)
            return nil
        }
        bytes = memory
        self.byteCount = byteCount
        self.connection = connection
    }

    deinit {
        xcb_shm_detach(connection.raw, id)
        munmap(bytes, byteCount)
    }
}
