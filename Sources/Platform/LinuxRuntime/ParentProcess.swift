internal import CLinux

/// The process that has started this one.
public enum ParentProcess {
    /// Ends this process with the thread that has started it, also when that process crashes or is killed.
    public static func endWithIt() { clinux_end_with_parent() }
}
