internal import CXCB
internal import Glibc
internal import MediaCore

extension X11Connection {
    /// Subtracts all damage of an object, and returns its rectangles in pixels of the damaged window. One round trip.
    /// Needs XFIXES, which has the regions of the server.
    func takeDamage(_ damage: xcb_damage_damage_t) -> [PixelRect] {
        let region = xcb_generate_id(raw)
        xcb_xfixes_create_region(raw, region, 0, nil)
        xcb_damage_subtract(raw, damage, 0, region)
        let cookie = xcb_xfixes_fetch_region(raw, region)
        xcb_xfixes_destroy_region(raw, region)
        guard let reply = xcb_xfixes_fetch_region_reply(raw, cookie, nil) else { return [] }
        defer { free(reply) }
        return UnsafeBufferPointer(
            start: xcb_xfixes_fetch_region_rectangles(reply),
            count: Int(xcb_xfixes_fetch_region_rectangles_length(reply))
        ).map { PixelRect($0) }
    }
}

extension PixelRect {
    init(_ rect: xcb_rectangle_t) {
        self.init(x: Int(rect.x), y: Int(rect.y), width: Int(rect.width), height: Int(rect.height))
    }
}
