import MediaCore

/// Places of the picture, and pixels of the window.
extension PictureLayout {
    /// The place of the frame's pixel that a pixel of the window shows.
    /// - Parameter isClamped: a pixel beside the picture counts as the nearest one of it.
    /// - Returns: nil beside the picture.
    func point(x: Int, y: Int, isClamped: Bool = false) -> PicturePoint? {
        let shown = destination
        guard !shown.isEmpty else { return nil }
        let isInside = (shown.x..<shown.maxX).contains(x) && (shown.y..<shown.maxY).contains(y)
        guard isInside || isClamped else { return nil }
        let across = min(max(x, shown.x), shown.maxX - 1) - place.x
        let down = min(max(y, shown.y), shown.maxY - 1) - place.y
        return PicturePoint(
            x: Self.place(of: across * frame.width / place.width, among: frame.width),
            y: Self.place(of: down * frame.height / place.height, among: frame.height))
    }

    /// The smallest number that `PicturePoint.pixel` takes to this pixel.
    private static func place(of pixel: Int, among count: Int) -> UInt16 {
        guard count > 1 else { return 0 }
        return UInt16(clamping: (min(pixel, count - 1) * 65_535 + count - 2) / (count - 1))
    }

    /// Where a place of the picture is in the window; it may be outside of it.
    func position(of point: PicturePoint) -> (x: Double, y: Double) {
        let across = Double(point.x) * Double(frame.width - 1) / 65_535 + 0.5
        let down = Double(point.y) * Double(frame.height - 1) / 65_535 + 0.5
        return (
            Double(place.x) + across * Double(place.width) / Double(frame.width),
            Double(place.y) + down * Double(place.height) / Double(frame.height)
        )
    }

    /// The pixels of the frame that a rectangle of the window shows.
    func frameRect(showing rect: PixelRect) -> PixelRect {
        let left = (rect.x - place.x) * frame.width / place.width
        let top = (rect.y - place.y) * frame.height / place.height
        let right = ((rect.maxX - place.x) * frame.width + place.width - 1) / place.width
        let bottom = ((rect.maxY - place.y) * frame.height + place.height - 1) / place.height
        return PixelRect(x: left - 1, y: top - 1, width: right - left + 2, height: bottom - top + 2)
            .clipped(to: frame)
    }
}
