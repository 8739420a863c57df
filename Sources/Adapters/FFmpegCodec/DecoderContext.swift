internal import CAVCodec
internal import MediaCore

/// One decoder of libavcodec, with the packet and the frame that it works with.
///
/// - Isolation: confined to one thread.
final class DecoderContext {
    private let library: FFmpegLibrary
    private var context: OpaquePointer?
    private var packet: UnsafeMutablePointer<cav_packet>?
    /// The newest frame, and the one that the next is received into.
    private var newest: UnsafeMutablePointer<cav_frame>?
    private var next: UnsafeMutablePointer<cav_frame>?
    /// At most so many frames come out for one that goes in.
    private static let mostFrames = 32

    init(_ library: FFmpegLibrary, _ identifier: Int32) throws(CodecFailure) {
        self.library = library
        let decoder = library.findDecoder(identifier)
        context = decoder.flatMap { library.allocateContext($0) }
        packet = library.allocatePacket()
        newest = library.allocateFrame()
        next = library.allocateFrame()
        guard let context, packet != nil, newest != nil, next != nil else {
            throw CodecFailure(code: -1, message: "libavcodec has no memory for a decoder")
        }
        let options = [
            ("threads", "1"), ("max_pixels", "\(DecoderLimits.maximumPixels)"),
            // An error ends the frame. Concealment stays on: without it, missing slices are not noticed.
            ("err_detect", "+bitstream+buffer+explode"),
        ]
        for (name, value) in options {
            let code = library.setOption(context, name, value, 0)
            guard code >= 0 else { throw failure(code, "set \(name)") }
        }
        let code = library.openDecoder(context, decoder, nil)
        guard code == 0 else { throw failure(code, "open a decoder") }
    }

    deinit {
        library.freeFrame(&newest)
        library.freeFrame(&next)
        library.freePacket(&packet)
        library.freeContext(&context)
    }

    private func failure(_ code: Int32, _ action: String) -> CodecFailure {
        CodecFailure(code: Int(code), message: "libavcodec could not \(action): \(library.message(code))")
    }

    /// - Parameter units: of one frame, as a byte stream; the padding that libavcodec wants is added and removed.
    /// - Returns: the newest frame that can be shown, valid until the next call; nil if there is none yet.
    func decode(_ units: inout [UInt8]) throws(CodecFailure) -> UnsafePointer<cav_frame>? {
        guard let context, let packet else { return nil }
        let count = units.count
        guard let size = Int32(exactly: count) else {
            throw CodecFailure(code: -1, message: "a frame of \(count) bytes is too long")
        }
        units.append(contentsOf: repeatElement(0, count: Int(cav_padding)))
        defer { units.removeLast(units.count - count) }
        let sent = units.withUnsafeMutableBufferPointer { bytes in
            // Without a buffer of its own, the packet's bytes are copied.
            packet.pointee.data = bytes.baseAddress
            packet.pointee.size = size
            defer {
                packet.pointee.data = nil
                packet.pointee.size = 0
            }
            return library.sendPacket(context, packet)
        }
        guard sent == 0 else { throw failure(sent, "decode a frame") }
        var hasFrame = false
        for _ in 0..<Self.mostFrames {
            guard let next else { break }
            let code = library.receiveFrame(context, next)
            if code == cav_error_again { break }
            guard code == 0 else { throw failure(code, "decode a frame") }
            swap(&newest, &self.next)
            hasFrame = true
        }
        return hasFrame ? newest.map { UnsafePointer($0) } : nil
    }
}
