internal import CXCB
internal import Glibc
internal import MediaCore

/// Reads rectangles of a drawable through shared memory (MIT-SHM 1.2), or over the socket without it.
/// All rectangles are requested at once. The replies are taken in order while the server still copies the later ones.
///
/// Only xcb allocates for a rectangle: its reply and two list nodes. An unchecked request saves a third node; its error
/// arrives as an event.
final class ImageReader {
    /// A rectangle that was requested.
    private struct Pending {
        var rect: PixelRect
        /// The part of `rect` that the drawable has; empty if nothing was requested.
        var inside: PixelRect
        var sequence: UInt32
        /// Offset in the segment, in bytes.
        var offset: Int
    }

    /// The most bytes to request at once over the socket; more would only take memory.
    private static let largestSocketRead = 1 << 20

    private let connection: X11Connection
    private var segment: SharedSegment?
    private var pending: [Pending] = []
    /// For rectangles that the drawable has in part only.
    private var staging: UnsafeMutableRawBufferPointer?
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

    deinit { staging?.deallocate() }

    /// Detaches the segment. Nothing can be read afterwards.
    func close() { segment = nil }

    /// Requests all rectangles and calls `body` for each with the rectangle, its first pixel and its stride in bytes.
    /// The pixels may be changed. Those outside of the area's readable part are black.
    /// - Parameter rects: of the frame.
    /// - Returns: false if the server refused, because the screen size has changed.
    func read(
        _ rects: [PixelRect], of area: CaptureArea, _ body: (PixelRect, UnsafeMutableRawPointer, Int) -> Void
    ) throws(SourceFailure) -> Bool {
        var isComplete = true
        var next = 0
        while next < rects.count {
            let first = next
            next =
                segment.map { request(rects, from: first, of: area, into: $0) }
                ?? request(rects, from: first, of: area)
            for pending in pending {
                // Every reply is taken, as xcb would keep it otherwise.
                let isGood =
                    if pending.inside.isEmpty {
                        give(pending, nil, 0, body)
                    } else {
                        segment != nil ? take(pending, body) : takeFromSocket(pending, body)
                    }
                isComplete = isComplete && isGood
            }
            pending.removeAll(keepingCapacity: true)
        }
        if !isComplete { try connection.checkAlive() }
        return isComplete
    }

    /// - Returns: the index of the first rectangle that does not fit into the segment.
    private func request(
        _ rects: [PixelRect], from first: Int, of area: CaptureArea, into segment: SharedSegment
    ) -> Int {
        var offset = 0
        for index in first..<rects.count {
            let rect = rects[index]
            let inside = rect.intersection(area.readable)
            if inside.isEmpty {
                pending.append(Pending(rect: rect, inside: inside, sequence: 0, offset: 0))
                continue
            }
            let length = inside.width * inside.height * 4
            if offset + length > segment.byteCount && index > first { return index }
            let cookie = xcb_shm_get_image_unchecked(
                connection.raw, area.drawable, Int16(clamping: area.x + inside.x), Int16(clamping: area.y + inside.y),
                UInt16(inside.width), UInt16(inside.height), ~0, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment.id,
                UInt32(offset))
            pending.append(Pending(rect: rect, inside: inside, sequence: cookie.sequence, offset: offset))
            requests += 1
            bytes += length
            offset = (offset + length + 63) & ~63
        }
        return rects.count
    }

    private func take(_ pending: Pending, _ body: (PixelRect, UnsafeMutableRawPointer, Int) -> Void) -> Bool {
        let cookie = xcb_shm_get_image_cookie_t(sequence: pending.sequence)
        guard let reply = xcb_shm_get_image_reply(connection.raw, cookie, nil) else { return false }
        free(reply)
        guard let segment else { return false }
        return give(pending, segment.bytes + pending.offset, pending.inside.width * 4, body)
    }

    private func request(_ rects: [PixelRect], from first: Int, of area: CaptureArea) -> Int {
        var total = 0
        for index in first..<rects.count {
            let rect = rects[index]
            let inside = rect.intersection(area.readable)
            if inside.isEmpty {
                pending.append(Pending(rect: rect, inside: inside, sequence: 0, offset: 0))
                continue
            }
            let length = inside.width * inside.height * 4
            if total + length > Self.largestSocketRead && index > first { return index }
            let cookie = xcb_get_image_unchecked(
                connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), area.drawable,
                Int16(clamping: area.x + inside.x), Int16(clamping: area.y + inside.y), UInt16(inside.width),
                UInt16(inside.height), ~0)
            pending.append(Pending(rect: rect, inside: inside, sequence: cookie.sequence, offset: 0))
            requests += 1
            bytes += length
            total += length
        }
        return rects.count
    }

    private func takeFromSocket(
        _ pending: Pending, _ body: (PixelRect, UnsafeMutableRawPointer, Int) -> Void
    ) -> Bool {
        let cookie = xcb_get_image_cookie_t(sequence: pending.sequence)
        guard let reply = xcb_get_image_reply(connection.raw, cookie, nil) else { return false }
        defer { free(reply) }
        let inside = pending.inside
        guard let data = xcb_get_image_data(reply),
            Int(xcb_get_image_data_length(reply)) >= inside.width * inside.height * 4
        else { return false }
        return give(pending, UnsafeMutableRawPointer(data), inside.width * 4, body)
    }

    /// Calls `body` with the pixels of `pending.inside`, surrounded by black if they are a part.
    private func give(
        _ pending: Pending, _ pixels: UnsafeMutableRawPointer?, _ stride: Int,
        _ body: (PixelRect, UnsafeMutableRawPointer, Int) -> Void
    ) -> Bool {
        let (rect, inside) = (pending.rect, pending.inside)
        if let pixels, inside == rect {
            body(rect, pixels, stride)
            return true
        }
        let length = rect.width * rect.height * 4
        if staging.map({ $0.count < length }) ?? true {
            staging?.deallocate()
            staging = .allocate(byteCount: length, alignment: 64)
        }
        guard let base = staging?.baseAddress else { return false }
        memset(base, 0, length)
        if let pixels {
            for row in 0..<inside.height {
                memcpy(
                    base + ((inside.y - rect.y + row) * rect.width + inside.x - rect.x) * 4, pixels + row * stride,
                    inside.width * 4)
            }
        }
        body(rect, base, rect.width * 4)
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
