internal import CXCB
internal import Glibc
internal import MediaCore

/// A connection to an X server, with the extensions that the server supports. Used by one thread at a time. xcb reports
/// a lost connection as an error and never ends the process.
final class X11Connection {
    struct Extension {
        var opcode: UInt8
        var firstEvent: UInt8
    }

    let raw: OpaquePointer
    let name: String
    let root: xcb_window_t
    /// The size at the time of the connection; see `rootSize()` for the current one.
    let initialSize: PixelSize
    /// nil if the server lacks the extension. MIT-SHM needs version 1.2, which takes a file descriptor.
    private(set) var shm: Extension?
    private(set) var damage: Extension?
    private(set) var xfixes: Extension?
    private(set) var randr: Extension?
    private(set) var xinput: Extension?
    /// Version 0.2, which names the pixmaps of windows.
    private(set) var composite: Extension?
    private(set) var shape: Extension?
    /// RandR 1.5 lists monitors.
    private(set) var hasMonitors = false
    private var isClosed = false

    /// - Parameter display: as in `$DISPLAY`; nil uses that variable.
    /// - Throws: `.noDisplay`, or `.unsupported` if pixels are not 32 bits BGRX.
    init(_ display: String?) throws(SourceFailure) {
        name = display ?? getenv("DISPLAY").map { String(cString: $0) } ?? ""
        guard !name.isEmpty else { throw .displayUnset }
        // SIGPIPE would end the process when the server closes the socket during a write.
        var action = sigaction()
        if sigaction(SIGPIPE, nil, &action) == 0, action.__sigaction_handler.sa_handler == nil {
            signal(SIGPIPE, SIG_IGN)
        }
        var number: Int32 = 0
        guard let connection = xcb_connect(name, &number) else { throw .cannotOpen(name, 0) }
        let code = xcb_connection_has_error(connection)
        guard code == 0, let screen = Self.screen(number, of: connection) else {
            xcb_disconnect(connection)
            throw .cannotOpen(name, code)
        }
        if let problem = Self.unsupportedPixels(of: screen, connection) {
            xcb_disconnect(connection)
            throw SourceFailure(
                .unsupported, "display \(name) cannot be read: \(problem)",
                remedy: "Run the X server with 24-bit colour (depth 24, 32 bits per pixel).")
        }
        raw = connection
        root = screen.pointee.root
        initialSize = PixelSize(
            width: Int(screen.pointee.width_in_pixels), height: Int(screen.pointee.height_in_pixels))
        findExtensions()
    }

    deinit { close() }

    /// `raw` is invalid afterwards. A second call does nothing.
    func close() {
        if !isClosed { xcb_disconnect(raw) }
        isClosed = true
    }

    var descriptor: Int32 { xcb_get_file_descriptor(raw) }

    func checkAlive() throws(SourceFailure) {
        if xcb_connection_has_error(raw) != 0 { throw gone }
    }

    var gone: SourceFailure {
        SourceFailure(
            .displayGone, "display \(name) went away",
            remedy: "The X server ended or closed the connection; start it and share again.")
    }

    /// The current size of the root window. Takes one round trip.
    func rootSize() throws(SourceFailure) -> PixelSize {
        guard let reply = xcb_get_geometry_reply(raw, xcb_get_geometry(raw, root), nil) else { throw gone }
        defer { free(reply) }
        return PixelSize(width: Int(reply.pointee.width), height: Int(reply.pointee.height))
    }

    /// One round trip.
    /// - Parameter isMade: whether an atom that the server does not know is made.
    /// - Returns: nil if there is none, or the connection is lost.
    func atom(_ name: String, isMade: Bool) -> xcb_atom_t? {
        let cookie = xcb_intern_atom(raw, isMade ? 0 : 1, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(raw, cookie, nil) else { return nil }
        defer { free(reply) }
        return reply.pointee.atom == 0 ? nil : reply.pointee.atom
    }

    /// The result is owned by the connection.
    private static func screen(_ number: Int32, of connection: OpaquePointer) -> UnsafeMutablePointer<xcb_screen_t>? {
        guard let setup = xcb_get_setup(connection) else { return nil }
        var iterator = xcb_setup_roots_iterator(setup)
        for _ in 0..<max(number, 0) where iterator.rem > 1 { xcb_screen_next(&iterator) }
        return iterator.rem > 0 ? iterator.data : nil
    }

    /// Returns why the root window's pixels are not in B, G, R, X byte order; nil if they are.
    private static func unsupportedPixels(
        of screen: UnsafeMutablePointer<xcb_screen_t>, _ connection: OpaquePointer
    ) -> String? {
        guard let setup = xcb_get_setup(connection) else { return "it says nothing of itself" }
        let depth = screen.pointee.root_depth
        guard depth == 24 || depth == 32 else { return "its depth is \(depth)" }
        guard setup.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue) else {
            return "its pixels are big-endian"
        }
        var formats = xcb_setup_pixmap_formats_iterator(setup)
        while formats.rem > 0, let format = formats.data?.pointee {
            if format.depth == depth && format.bits_per_pixel != 32 {
                return "its pixels take \(format.bits_per_pixel) bits"
            }
            xcb_format_next(&formats)
        }
        return unsupportedMasks(of: screen)
    }

    private static func unsupportedMasks(of screen: UnsafeMutablePointer<xcb_screen_t>) -> String? {
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0, let depth = depths.data {
            var visuals = xcb_depth_visuals_iterator(depth)
            while visuals.rem > 0, let visual = visuals.data?.pointee {
                if visual.visual_id == screen.pointee.root_visual {
                    let isBGRX =
                        visual.red_mask == 0xff0000 && visual.green_mask == 0xff00 && visual.blue_mask == 0xff
                    return isBGRX ? nil : "its colours are not laid out as red, green, blue"
                }
                xcb_visualtype_next(&visuals)
            }
            xcb_depth_next(&depths)
        }
        return nil
    }

    /// Queries all extensions in two round trips.
    private func findExtensions() {
        cxcb_prefetch_extensions(raw)
        let shm = Self.present(cxcb_shm(raw))
        let damage = Self.present(cxcb_damage(raw))
        let xfixes = Self.present(cxcb_xfixes(raw))
        let randr = Self.present(cxcb_randr(raw))
        let xinput = Self.present(cxcb_xinput(raw))
        let composite = Self.present(cxcb_composite(raw))
        shape = Self.present(cxcb_shape(raw))
        // Each extension requires a version query before any other request.
        let shmVersion = shm.map { _ in xcb_shm_query_version(raw) }
        let damageVersion = damage.map { _ in xcb_damage_query_version(raw, 1, 1) }
        let xfixesVersion = xfixes.map { _ in xcb_xfixes_query_version(raw, 5, 0) }
        let randrVersion = randr.map { _ in xcb_randr_query_version(raw, 1, 5) }
        let xinputVersion = xinput.map { _ in xcb_input_xi_query_version(raw, 2, 2) }
        let compositeVersion = composite.map { _ in xcb_composite_query_version(raw, 0, 4) }
        if let shmVersion, let reply = xcb_shm_query_version_reply(raw, shmVersion, nil) {
            defer { free(reply) }
            if (reply.pointee.major_version, reply.pointee.minor_version) >= (1, 2) { self.shm = shm }
        }
        if let damageVersion, let reply = xcb_damage_query_version_reply(raw, damageVersion, nil) {
            free(reply)
            self.damage = damage
        }
        if let xfixesVersion, let reply = xcb_xfixes_query_version_reply(raw, xfixesVersion, nil) {
            free(reply)
            self.xfixes = xfixes
        }
        if let randrVersion, let reply = xcb_randr_query_version_reply(raw, randrVersion, nil) {
            defer { free(reply) }
            self.randr = randr
            hasMonitors = (reply.pointee.major_version, reply.pointee.minor_version) >= (1, 5)
        }
        if let xinputVersion, let reply = xcb_input_xi_query_version_reply(raw, xinputVersion, nil) {
            defer { free(reply) }
            if reply.pointee.major_version >= 2 { self.xinput = xinput }
        }
        if let compositeVersion, let reply = xcb_composite_query_version_reply(raw, compositeVersion, nil) {
            defer { free(reply) }
            if (reply.pointee.major_version, reply.pointee.minor_version) >= (0, 2) { self.composite = composite }
        }
    }

    private static func present(_ answer: UnsafePointer<xcb_query_extension_reply_t>?) -> Extension? {
        guard let answer, answer.pointee.present != 0 else { return nil }
        return Extension(opcode: answer.pointee.major_opcode, firstEvent: answer.pointee.first_event)
    }
}

extension SourceFailure {
    fileprivate static var displayUnset: SourceFailure {
        let isWayland = getenv("WAYLAND_DISPLAY") != nil
        return SourceFailure(
            .noDisplay, "there is no X display: DISPLAY is not set",
            remedy: isWayland
                ? "This is a Wayland session: share its screen with --source portal."
                : "Run it in a graphical session, or name the display, such as :0.")
    }

    fileprivate static func cannotOpen(_ name: String, _ code: Int32) -> SourceFailure {
        let why =
            switch code {
            case XCB_CONN_CLOSED_PARSE_ERR: "its name cannot be understood"
            case XCB_CONN_CLOSED_INVALID_SCREEN: "it has no such screen"
            default: "no server answers there, or it does not let this user in"
            }
        return SourceFailure(
            .noDisplay, "cannot open display \(name): \(why)",
            remedy: "Check that an X server runs there (the name is in $DISPLAY of its session) and that this user may "
                + "use it (XAUTHORITY, or xhost +si:localuser:NAME).")
    }
}
