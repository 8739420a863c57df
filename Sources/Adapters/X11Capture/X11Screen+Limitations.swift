import Glibc

extension X11Screen {
    public var limitations: [String] {
        var sentences: [String] = []
        if getenv("WAYLAND_DISPLAY") != nil, name == getenv("DISPLAY").map({ String(cString: $0) }) {
            sentences.append(
                "This is a Wayland session: display \(name) shows only the windows of X11 programs and the rest stays "
                    + "black. Share the whole screen with --source portal.")
        }
        if !features.hasDamage {
            sentences.append(
                "Display \(name) does not tell what changes (no DAMAGE extension): the whole screen is compared up to ten "
                    + "times a second, which costs processor time.")
        }
        if !reader.usesSharedMemory {
            sentences.append(
                "Display \(name) shares no memory (no MIT-SHM 1.2, or on another machine): pictures come over its socket, "
                    + "which is slower.")
        }
        if features.lacksCursor {
            sentences.append("Display \(name) does not tell the cursor's shape (no XFIXES extension): it is not shown.")
        } else if features.hasCursor, !features.hasMotion {
            sentences.append(
                "Display \(name) does not tell when the mouse moves (no XInput 2): the cursor moves only when "
                    + "something else changes.")
        }
        return sentences
    }
}
