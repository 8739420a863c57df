internal import Glibc

/// What a descriptor belongs to. It imports Glibc alone: the first file of a module that uses a structure with `timespec` decides
/// whose that type is.
enum DescriptorKind {
    /// Whether it is a device such as a camera, whose memory a driver provides.
    static func isCharacterDevice(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
    }
}
