import ShareKit

/// A sheet that an app draws. Nothing else of the display is in its source.
struct Sheet {
    static let (width, height) = (800, 600)
    let source: ApplicationSource

    init() throws(ShareKitError) {
        source = try ApplicationSource(name: "Sheet", width: Self.width, height: Self.height, hasAudio: true)
    }

    /// Fills a rectangle, in the source's own memory.
    func fill(_ area: ApplicationSource.Rectangle, grey: UInt8) throws(ShareKitError) {
        try source.draw(width: Self.width, height: Self.height) { pixels, stride in
            for row in area.y..<area.y + area.height {
                (pixels + row * stride + area.x * 4)
                    .initializeMemory(as: UInt8.self, repeating: grey, count: area.width * 4)
            }
            return [area]
        }
    }
}
