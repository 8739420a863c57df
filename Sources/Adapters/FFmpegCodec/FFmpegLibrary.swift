internal import CAVCodec
internal import LinuxRuntime

/// The functions of libavcodec 59 and libavutil 57, loaded when they are first needed.
// SAFETY: C functions, which may be called from any thread; each context is confined to one.
struct FFmpegLibrary: @unchecked Sendable {
    /// Nil if this machine does not have the libraries. The first call blocks while they are loaded.
    static let shared = try? FFmpegLibrary()

    let findDecoder: @convention(c) (Int32) -> OpaquePointer?
    let allocateContext: @convention(c) (OpaquePointer?) -> OpaquePointer?
    let freeContext: @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> Void
    let openDecoder: @convention(c) (OpaquePointer, OpaquePointer?, UnsafeMutableRawPointer?) -> Int32
    let sendPacket: @convention(c) (OpaquePointer, UnsafePointer<cav_packet>?) -> Int32
    let receiveFrame: @convention(c) (OpaquePointer, UnsafeMutablePointer<cav_frame>) -> Int32
    let allocatePacket: @convention(c) () -> UnsafeMutablePointer<cav_packet>?
    let freePacket: @convention(c) (UnsafeMutablePointer<UnsafeMutablePointer<cav_packet>?>) -> Void
    let allocateFrame: @convention(c) () -> UnsafeMutablePointer<cav_frame>?
    let freeFrame: @convention(c) (UnsafeMutablePointer<UnsafeMutablePointer<cav_frame>?>) -> Void
    let setOption: @convention(c) (OpaquePointer, UnsafePointer<CChar>, UnsafePointer<CChar>, Int32) -> Int32
    let describeFormat: @convention(c) (Int32) -> UnsafePointer<cav_format>?
    let describeError: @convention(c) (Int32, UnsafeMutablePointer<CChar>, Int) -> Int32

    private init() throws(DynamicLibrary.Failure) {
        let util = try DynamicLibrary("libavutil.so.57")
        let codec = try DynamicLibrary("libavcodec.so.59")
        findDecoder = try codec.function("avcodec_find_decoder")
        allocateContext = try codec.function("avcodec_alloc_context3")
        freeContext = try codec.function("avcodec_free_context")
        openDecoder = try codec.function("avcodec_open2")
        sendPacket = try codec.function("avcodec_send_packet")
        receiveFrame = try codec.function("avcodec_receive_frame")
        allocatePacket = try codec.function("av_packet_alloc")
        freePacket = try codec.function("av_packet_free")
        allocateFrame = try util.function("av_frame_alloc")
        freeFrame = try util.function("av_frame_free")
        setOption = try util.function("av_opt_set")
        describeFormat = try util.function("av_pix_fmt_desc_get")
        describeError = try util.function("av_strerror")
        // Messages about hostile streams do not belong into a terminal.
        let setLogLevel: @convention(c) (Int32) -> Void = try util.function("av_log_set_level")
        setLogLevel(Int32(cav_log_quiet))
    }

    func message(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 128)
        guard describeError(code, &text, text.count) == 0 else { return "error \(code)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
