// Helpers around libvpx for the encoder and the decoder.
import CVPX
import MediaCore

extension CodecFailure {
    /// Makes a `CodecFailure` from the result of a libvpx call.
    static func vpx(_ code: vpx_codec_err_t, _ context: UnsafeMutablePointer<vpx_codec_ctx_t>?, _ action: String)
        -> Self
    {
        let reason = String(cString: vpx_codec_err_to_string(code))
        let detail = context.flatMap { vpx_codec_error_detail($0) }.map { ": " + String(cString: $0) } ?? ""
        return CodecFailure(code: Int(code.rawValue), message: "libvpx could not \(action): \(reason)\(detail)")
    }
}
