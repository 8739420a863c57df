import CXCB
import FrameDifference
import Glibc
import LinuxRuntime
import MediaCore

/// Events of the X server.
extension X11Screen {
    func listen(_ connection: X11Connection, _ isOn: Bool) {
        desktop.listen(connection, isOn)
        target.window?.listen(connection, isOn)
        if connection.randr != nil {
            let mask =
                XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
                | XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE.rawValue
            xcb_randr_select_input(connection.raw, connection.root, isOn ? UInt16(mask) : 0)
        }
        subscribeToDamage(connection, isOn)
        if features.hasCursor {
            let mask = isOn ? XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue : 0
            xcb_xfixes_select_cursor_input(connection.raw, connection.root, mask)
            if features.hasMotion { cxcb_select_motion(connection.raw, connection.root, isOn ? 1 : 0) }
        }
        xcb_flush(connection.raw)
    }

    /// Listens for the damage of the target's window, which may have become another one.
    private func subscribeToDamage(_ connection: X11Connection, _ isOn: Bool) {
        guard features.hasDamage else { return }
        let window = isOn ? target.damagedWindow(connection) : 0
        guard window != damage.window else { return }
        // The server destroys it with its window; another destruction is an error that arrives as an event.
        if damage.id != 0 { xcb_damage_destroy(connection.raw, damage.id) }
        damage = DamageSubscription(id: 0, window: window)
        guard window != 0 else { return }
        // This level reports only areas that are not yet part of the damage, as separate rectangles. That
        // avoids a bounding box over half the screen, a flood of events, and a round trip to fetch a region.
        damage.id = xcb_generate_id(connection.raw)
        xcb_damage_create(
            connection.raw, damage.id, window, UInt8(XCB_DAMAGE_REPORT_LEVEL_DELTA_RECTANGLES.rawValue))
        if connection.xfixes != nil { damage.checkDue = MonotonicClock.now + Self.damageCheckInterval }
    }

    /// Handles all events that have arrived, and brings up to date what they made stale, until neither is left. Never
    /// waits for events; an update takes some round trips.
    ///
    /// Round trips bring further events into xcb's queue, of which the descriptor does not tell, so each update is
    /// followed by another look. Something remains stale only while windows change faster than it is updated.
    func takeEvents() throws(SourceFailure) -> X11Connection {
        guard let connection else {
            throw SourceFailure(.displayGone, "display \(name) was closed", remedy: "Open it again.")
        }
        for _ in 0..<Self.updatesAtOnce {
            while let event = xcb_poll_for_event(connection.raw) {
                take(event, connection)
                free(event)
            }
            try connection.checkAlive()
            let now = MonotonicClock.now
            guard isStale(at: now) else { return connection }
            try update(connection, at: now)
        }
        takeQueuedEvents(connection)
        return connection
    }

    /// Whether something has to be read from the server before it can be slept.
    func isStale(at now: MediaInstant) -> Bool {
        geometry.isStale && now >= geometry.due
            || target.isOfScreen && (desktop.isStale || desktop.concealed.nextExpiry.map { $0 <= now } ?? false)
            || damage.checkDue.map { $0 <= now } ?? false
    }

    /// Reads what is stale from the server.
    private func update(_ connection: X11Connection, at now: MediaInstant) throws(SourceFailure) {
        if geometry.isStale && now >= geometry.due { try refreshTarget(connection, at: now) }
        if target.isOfScreen {
            if desktop.isStale { damage(desktop.updateConcealed(connection, at: now)) }
            damage(desktop.expireConcealed(at: now))
        }
        if let due = damage.checkDue, due <= now {
            damage.checkDue = now + Self.damageCheckInterval
            for rect in connection.takeDamage(damage.id) { insertDamage(rect) }
        }
    }

    /// Handles the events that arrived with a reply, without reading more of them.
    /// - Returns: whether there was one.
    @discardableResult
    func takeQueuedEvents(_ connection: X11Connection) -> Bool {
        var isAny = false
        while let event = xcb_poll_for_queued_event(connection.raw) {
            isAny = true
            take(event, connection)
            free(event)
        }
        return isAny
    }

    /// - Parameter rect: of the damaged window.
    private func insertDamage(_ rect: PixelRect) {
        let offset = target.damageOffset
        let rect = rect.offset(x: offset.x, y: offset.y)
        if !rect.clipped(to: size).isEmpty { pending.insert(rect) }
    }

    /// - Parameter rects: of the root window.
    private func damage(_ rects: [PixelRect]) {
        for rect in rects { pending.insert(rect.offset(x: -area.rootX, y: -area.rootY)) }
    }

    private func refreshTarget(_ connection: X11Connection, at now: MediaInstant) throws(SourceFailure) {
        geometry.isStale = false
        try target.refresh(connection, desktop)
        subscribeToDamage(connection, true)
        let new = target.area
        guard new != area else { return }
        let old = area
        area = new
        if new.size != size {
            reader.resize(new.size)
            shadow = ScreenShadow(new.size)
            pending.resize(to: new.size)
            pending.isResized = true
            if target.window != nil { geometry.due = now + Self.shortestResize }
        } else if (new.drawable, new.x, new.y, new.readable) != (old.drawable, old.x, old.y, old.readable) {
            pending.fill()
        }
        pending.isPointerMoved = true
    }

    private func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>, _ connection: X11Connection) {
        let raw = UnsafeRawPointer(event)
        let type = event.pointee.response_type & 0x7f
        if let damage = connection.damage, type == damage.firstEvent &+ UInt8(XCB_DAMAGE_NOTIFY) {
            let event = raw.load(as: xcb_damage_notify_event_t.self)
            // Another one is of a window that was captured before.
            guard event.drawable == self.damage.window else { return }
            insertDamage(PixelRect(event.area))
        } else if let xfixes = connection.xfixes, type == xfixes.firstEvent &+ UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            pending.isCursorImageStale = true
        } else if let randr = connection.randr,
            type == randr.firstEvent &+ UInt8(XCB_RANDR_SCREEN_CHANGE_NOTIFY)
                || type == randr.firstEvent &+ UInt8(XCB_RANDR_NOTIFY)
        {
            geometry.isStale = true
        } else if type == UInt8(XCB_GE_GENERIC), let xinput = connection.xinput {
            let generic = raw.load(as: xcb_ge_generic_event_t.self)
            // Only motion and raw motion were selected.
            if generic.extension == xinput.opcode {
                pending.isPointerMoved = true
                cursor.visibility.noteMotion(at: MonotonicClock.now)
                scans.expectChange()
            }
        } else {
            takeWindowEvent(raw, type, connection)
        }
    }

    /// Events of the root window, its children and the captured window.
    private func takeWindowEvent(_ raw: UnsafeRawPointer, _ type: UInt8, _ connection: X11Connection) {
        switch type {
        case UInt8(XCB_CONFIGURE_NOTIFY):
            let event = raw.load(as: xcb_configure_notify_event_t.self)
            if event.window == connection.root {
                geometry.isStale = true
            } else {
                target.window?.noteSize(
                    PixelSize(width: Int(event.width), height: Int(event.height)), border: Int(event.border_width),
                    of: event.window)
                noteChange(of: event.window, isMove: true, isOnlyMove: true)
            }
        case UInt8(XCB_MAP_NOTIFY): noteChange(of: raw.load(as: xcb_map_notify_event_t.self).window)
        case UInt8(XCB_UNMAP_NOTIFY): noteChange(of: raw.load(as: xcb_unmap_notify_event_t.self).window)
        case UInt8(XCB_DESTROY_NOTIFY): noteChange(of: raw.load(as: xcb_destroy_notify_event_t.self).window)
        case UInt8(XCB_GRAVITY_NOTIFY): noteChange(of: raw.load(as: xcb_gravity_notify_event_t.self).window)
        case UInt8(XCB_CIRCULATE_NOTIFY): noteChange(of: raw.load(as: xcb_circulate_notify_event_t.self).window)
        case UInt8(XCB_REPARENT_NOTIFY):
            let window = raw.load(as: xcb_reparent_notify_event_t.self).window
            if window == target.window?.id { target.window?.isParentStale = true }
            noteChange(of: window)
        case UInt8(XCB_PROPERTY_NOTIFY):
            let event = raw.load(as: xcb_property_notify_event_t.self)
            if desktop.concerns(event.atom) { noteChange(of: event.window, isMove: true) }
        default: break
        }
    }

    /// A window was mapped, moved or closed, or has another title.
    /// - Parameters:
    ///   - isMove: its pixmap is the same one, unless its size has changed.
    ///   - isOnlyMove: its properties are the same as well.
    private func noteChange(of window: xcb_window_t, isMove: Bool = false, isOnlyMove: Bool = false) {
        if !isOnlyMove || desktop.hasConcealed { desktop.isStale = true }
        guard let tracker = target.window else { return }
        if tracker.id == 0 {
            geometry.isStale = true
        } else if window == tracker.id || window == tracker.topLevel {
            tracker.isPixmapStale = tracker.isPixmapStale || !isMove
            geometry.isStale = true
        }
    }

    func takeCursor(
        _ connection: X11Connection, _ pointer: xcb_query_pointer_cookie_t?,
        _ image: xcb_xfixes_get_cursor_image_cookie_t?, at now: MediaInstant
    ) {
        pending.isPointerMoved = false
        if let pointer, let reply = xcb_query_pointer_reply(connection.raw, pointer, nil) {
            defer { free(reply) }
            // Over a window only while no other window lies between.
            let isOver = target.window.map { $0.id != 0 && reply.pointee.child == $0.topLevel } ?? true
            cursor.visibility.isShown = cursor.visibility.isWanted(at: now)
            cursor.layer.setPosition(
                x: Int(reply.pointee.root_x) - area.rootX, y: Int(reply.pointee.root_y) - area.rootY,
                isVisible: reply.pointee.same_screen != 0 && isOver && cursor.visibility.isShown)
        }
        guard let image else { return }
        pending.isCursorImageStale = false
        guard let reply = xcb_xfixes_get_cursor_image_reply(connection.raw, image, nil) else {
            cursor.layer.setShape(CursorLayer.Shape(), UnsafeBufferPointer(start: nil, count: 0))
            return
        }
        defer { free(reply) }
        let width = Int(reply.pointee.width)
        let height = Int(reply.pointee.height)
        guard let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply),
            Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply)) >= width * height
        else { return }
        cursor.layer.setShape(
            CursorLayer.Shape(
                width: width, height: height, hotX: Int(reply.pointee.xhot), hotY: Int(reply.pointee.yhot)),
            UnsafeBufferPointer(start: pixels, count: width * height))
    }
}
