import BrowserControl

/// Where a page shows the picture.
struct PictureFrame: Sendable {
    let left, top, width, height: Double

    init(_ browser: Browser) async throws {
        let found = try await browser.evaluate(
            """
            (() => {
                const box = document.getElementById("video").getBoundingClientRect();
                const { videoWidth, videoHeight } = document.getElementById("video");
                const scale = Math.min(box.width / videoWidth, box.height / videoHeight);
                const [width, height] = [videoWidth * scale, videoHeight * scale];
                return [box.left + (box.width - width) / 2, box.top + (box.height - height) / 2, width, height];
            })()
            """)
        let values = found.array?.compactMap(\.number) ?? []
        guard values.count == 4, values[2] > 0 else { throw Browser.Failure(description: "no frame: \(found.text)") }
        (left, top, width, height) = (values[0], values[1], values[2], values[3])
    }

    func point(_ x: Double, _ y: Double) -> Browser.Action {
        .move(x: Int((left + x * width).rounded()), y: Int((top + y * height).rounded()))
    }

    /// An expression: whether a place is within 5 pixels of this one.
    func isNear(_ place: String, _ x: Double, _ y: Double) -> String {
        "Math.hypot(\(place)[0] - \(left + x * width), \(place)[1] - \(top + y * height)) < 5"
    }
}
