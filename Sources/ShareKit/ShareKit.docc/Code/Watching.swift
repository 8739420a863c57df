import ShareKit

/// Watches another instance's sheet, until either side ends it.
func watch(_ link: String, show: @escaping @Sendable ([UInt8]) -> Void) async throws(ShareKitError) {
    let viewer = try PeerViewer(link: link, name: "Ann") { frame in
        let stride = frame.width * 4
        var pixels = [UInt8](repeating: 0, count: stride * frame.height)
        pixels.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { frame.copyBGRA(to: base, stride: stride) }
        }
        show(pixels)
    }
    try await viewer.run()
}
