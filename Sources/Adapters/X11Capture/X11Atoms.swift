internal import CXCB
internal import Glibc

/// The atoms that window managers and programs use for windows.
struct X11Atoms {
    let windowName: xcb_atom_t
    let windowState: xcb_atom_t
    let windowType: xcb_atom_t
    let notification: xcb_atom_t
    let desktopOrPanel: Set<xcb_atom_t>
    let opacity: xcb_atom_t
    /// A program sets this property of a window, to any value but 0, to keep it out of captures.
    let excluded: xcb_atom_t
    let compositor: xcb_atom_t

    /// Takes one round trip.
    init(_ connection: X11Connection) {
        let names = [
            "_NET_WM_NAME", "WM_STATE", "_NET_WM_WINDOW_TYPE", "_NET_WM_WINDOW_TYPE_NOTIFICATION",
            "_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_OPACITY",
            "_SHARE_EXCLUDE_FROM_CAPTURE", "_NET_WM_CM_S0",
        ]
        let cookies = names.map { xcb_intern_atom(connection.raw, 0, UInt16($0.utf8.count), $0) }
        let atoms = cookies.map { cookie -> xcb_atom_t in
            guard let reply = xcb_intern_atom_reply(connection.raw, cookie, nil) else { return 0 }
            defer { free(reply) }
            return reply.pointee.atom
        }
        windowName = atoms[0]
        windowState = atoms[1]
        windowType = atoms[2]
        notification = atoms[3]
        desktopOrPanel = [atoms[4], atoms[5]]
        opacity = atoms[6]
        excluded = atoms[7]
        compositor = atoms[8]
    }
}
