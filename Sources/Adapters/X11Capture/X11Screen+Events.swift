import CXCB
import FrameDifference
import Glibc
import LinuxRuntime
import MediaCore

/// Events of the X server.
extension X11Screen {
    func listen(_ connection: X11Connection, _ isOn: Bool) {
        if features.hasDamage {
            if isOn && damageID == 0 {
                // This level reports only areas that are not yet part of the damage, as separate rectangles. That
                // avoids a bounding box over half the screen, a flood of events, and a round trip to fetch a region.
                damageID = xcb_generate_id(connection.raw)
                xcb_damage_create(
                    connection.raw, damageID, connection.root, UInt8(XCB_DAMAGE_REPORT_LEVEL_DELTA_RECTANGLES.rawValue))
            } else if !isOn && damageID != 0 {
                xcb_damage_destroy(connection.raw, damageID)
                damageID = 0
            }
        }
        if features.hasCursor {
            let mask = isOn ? XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue : 0
            xcb_xfixes_select_cursor_input(connection.raw, connection.root, mask)
            if features.hasMotion { cxcb_select_motion(connection.raw, connection.root, isOn ? 1 : 0) }
        }
        xcb_flush(connection.raw)
    }

    /// Handles all pending events without waiting, and a change of the screen size (one round trip).
    func takeEvents() throws(SourceFailure) -> X11Connection {
        guard let connection else {
            throw SourceFailure(.displayGone, "display \(name) was closed", remedy: "Open it again.")
        }
        while let event = xcb_poll_for_event(connection.raw) {
            take(event, connection)
            free(event)
        }
        try connection.checkAlive()
        guard isGeometryStale else { return connection }
        isGeometryStale = false
        let now = try connection.rootSize().even
        guard now != size, now.width > 0, now.height > 0 else { return connection }
        reader.resize(now)
        shadow = ScreenShadow(now)
        pending.resize(to: now)
        hasPendingResize = true
        return connection
    }

    private func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>, _ connection: X11Connection) {
        let raw = UnsafeRawPointer(event)
        let type = event.pointee.response_type & 0x7f
        if let damage = connection.damage, type == damage.firstEvent &+ UInt8(XCB_DAMAGE_NOTIFY) {
            let area = raw.load(as: xcb_damage_notify_event_t.self).area
            pending.blocks.insert(
                PixelRect(x: Int(area.x), y: Int(area.y), width: Int(area.width), height: Int(area.height)))
            pending.isDamaged = true
        } else if let xfixes = connection.xfixes, type == xfixes.firstEvent &+ UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            pending.isCursorImageStale = true
        } else if let randr = connection.randr, type == randr.firstEvent &+ UInt8(XCB_RANDR_SCREEN_CHANGE_NOTIFY) {
            isGeometryStale = true
        } else if type == UInt8(XCB_CONFIGURE_NOTIFY) {
            if raw.load(as: xcb_configure_notify_event_t.self).window == connection.root { isGeometryStale = true }
        } else if type == UInt8(XCB_GE_GENERIC), let xinput = connection.xinput {
            let generic = raw.load(as: xcb_ge_generic_event_t.self)
            // Only motion and raw motion were selected.
            if generic.extension == xinput.opcode {
                pending.isPointerMoved = true
                scans.expectChange()
            }
        }
    }

    func takeCursor(
        _ connection: X11Connection, _ pointer: xcb_query_pointer_cookie_t?,
        _ image: xcb_xfixes_get_cursor_image_cookie_t?
    ) {
        pending.isPointerMoved = false
        if let pointer, let reply = xcb_query_pointer_reply(connection.raw, pointer, nil) {
            defer { free(reply) }
            cursor.setPosition(
                x: Int(reply.pointee.root_x), y: Int(reply.pointee.root_y), isVisible: reply.pointee.same_screen != 0)
        }
        guard let image else { return }
        pending.isCursorImageStale = false
        guard let reply = xcb_xfixes_get_cursor_image_reply(connection.raw, image, nil) else {
            cursor.setShape(CursorLayer.Shape(), UnsafeBufferPointer(start: nil, count: 0))
            return
        }
        defer { free(reply) }
        let width = Int(reply.pointee.width)
        let height = Int(reply.pointee.height)
        guard let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply),
            Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply)) >= width * height
        else { return }
        cursor.setShape(
            CursorLayer.Shape(
                width: width, height: height, hotX: Int(reply.pointee.xhot), hotY: Int(reply.pointee.yhot)),
            UnsafeBufferPointer(start: pixels, count: width * height))
    }
}
