// Small pieces around libvpx that encoder and decoder share.
import CVPX
import MediaCore

extension CodecFailure {
    /// What libvpx says about a call that failed.
    static func vpx(_ code: vpx_codec_err_t, _ context: UnsafeMutablePointer<vpx_codec_ctx_t>?, _ action: String)
        -> Self
    {
        let reason = String(cString: vpx_codec_err_to_string(code))
        let detail = context.flatMap { vpx_codec_error_detail($0) }.map { ": " + String(cString: $0) } ?? ""
        return CodecFailure(code: Int(code.rawValue), message: "libvpx could not \(action): \(reason)\(detail)")
    }
}
