internal import CDAV1D
internal import LinuxRuntime

/// The functions of libdav1d 1.0, loaded when they are first needed.
// SAFETY: C functions, which may be called from any thread; each context is confined to one.
struct DAV1DLibrary: @unchecked Sendable {
    /// Nil if this machine does not have the library. The first call blocks while it is loaded.
    static let shared = try? DAV1DLibrary()

    let setDefaults: @convention(c) (UnsafeMutablePointer<cdav1d_settings>) -> Void
    let open: @convention(c) (UnsafeMutablePointer<OpaquePointer?>, UnsafePointer<cdav1d_settings>) -> Int32
    let close: @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> Void
    let createData: @convention(c) (UnsafeMutablePointer<cdav1d_data>, Int) -> UnsafeMutablePointer<UInt8>?
    let releaseData: @convention(c) (UnsafeMutablePointer<cdav1d_data>) -> Void
    let sendData: @convention(c) (OpaquePointer, UnsafeMutablePointer<cdav1d_data>) -> Int32
    let getPicture: @convention(c) (OpaquePointer, UnsafeMutablePointer<cdav1d_picture>) -> Int32
    let releasePicture: @convention(c) (UnsafeMutablePointer<cdav1d_picture>) -> Void

    private init() throws(DynamicLibrary.Failure) {
        let library = try DynamicLibrary("libdav1d.so.6")
        setDefaults = try library.function("dav1d_default_settings")
        open = try library.function("dav1d_open")
        close = try library.function("dav1d_close")
        createData = try library.function("dav1d_data_create")
        releaseData = try library.function("dav1d_data_unref")
        sendData = try library.function("dav1d_send_data")
        getPicture = try library.function("dav1d_get_picture")
        releasePicture = try library.function("dav1d_picture_unref")
    }
}
