internal import CVPX
internal import MediaCore

/// A decoder of libvpx with one thread, opened when it is first needed. Confined to one thread.
final class VPXDecoderContext {
    enum Codec: String { case vp8 = "VP8", vp9 = "VP9" }

    private let codec: Codec
    private var context: UnsafeMutablePointer<vpx_codec_ctx_t>?

    init(_ codec: Codec) { self.codec = codec }

    deinit { close() }

    func open() throws(CodecFailure) -> UnsafeMutablePointer<vpx_codec_ctx_t> {
        if let context { return context }
        let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
        context.initialize(to: vpx_codec_ctx_t())
        var configuration = vpx_codec_dec_cfg_t(threads: 1, w: 0, h: 0)
        let code =
            switch codec {
            case .vp8: cvpx_open_decoder(context, &configuration)
            case .vp9: cvpx_open_vp9_decoder(context, &configuration)
            }
        guard code == VPX_CODEC_OK else {
            context.deallocate()
            throw .vpx(code, nil, "open a \(codec.rawValue) decoder")
        }
        self.context = context
        return context
    }

    /// A second call does nothing.
    func close() {
        guard let context else { return }
        vpx_codec_destroy(context)
        context.deallocate()
        self.context = nil
    }
}
