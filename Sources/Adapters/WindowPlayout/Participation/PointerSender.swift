import MediaCore

/// Makes pointer gestures of what the mouse does over the picture. A value without a clock and a display.
///
/// Overflow policy: a position takes the place of the one before it, and what exceeds eight gestures is dropped, except
/// that the pointer has left the picture.
struct PointerSender {
    /// 30 gestures a second.
    static let interval = MediaDuration.microseconds(33_400)
    /// A mouse that has moved less than this while its button was down has clicked. In pixels of the window.
    private static let clickDistance = 4
    private static let queueLimit = 8

    private struct Press {
        var x: Int
        var y: Int
        var point: PicturePoint
        var isDrawing = false
    }

    private var queue: [PointerGesture] = []
    private var press: Press?
    private var last: PicturePoint?
    private var next = MediaInstant(nanoseconds: 0)

    /// The mouse has moved.
    /// - Parameters:
    ///   - x: in the window.
    ///   - point: nil beside the picture.
    mutating func move(x: Int, y: Int, _ point: PicturePoint?) {
        guard let point else { return leave() }
        if var press {
            if !press.isDrawing {
                guard max(abs(x - press.x), abs(y - press.y)) >= Self.clickDistance else { return }
                press.isDrawing = true
                self.press = press
                append(PointerGesture(.draw, [press.point]))
            }
            if point != last { append(PointerGesture(.draw, [point])) }
        } else if point != last {
            append(PointerGesture(.move, [point]))
        }
        last = point
    }

    /// The left button went down.
    mutating func press(x: Int, y: Int, _ point: PicturePoint?) {
        guard let point else { return }
        press = Press(x: x, y: y, point: point)
    }

    /// The left button went up.
    mutating func release() {
        guard let press else { return }
        self.press = nil
        if !press.isDrawing {
            last = press.point
            append(PointerGesture(.click, [press.point]))
        } else if let last {
            // Another kind ends the line.
            append(PointerGesture(.move, [last]))
        }
    }

    /// The mouse has left the picture, or the user does not point any more.
    mutating func leave() {
        press = nil
        guard last != nil else { return }
        last = nil
        append(PointerGesture(.leave))
    }

    private mutating func append(_ gesture: PointerGesture) {
        if let index = queue.indices.last {
            switch (queue[index].kind, gesture.kind) {
            case (.move, .move), (.move, .leave):
                queue[index] = gesture
                return
            case (.draw, .draw):
                // The last point is the one that counts.
                if queue[index].points.count >= PointerGesture.pointLimit { queue[index].points.removeLast() }
                queue[index].points += gesture.points
                return
            default: break
            }
        }
        if queue.count < Self.queueLimit {
            queue.append(gesture)
        } else if gesture.kind == .leave {
            queue[queue.count - 1] = gesture
        }
    }

    /// When the next gesture may be sent; nil if there is none.
    var nextTime: MediaInstant? { queue.isEmpty ? nil : next }

    /// Takes out the next gesture.
    /// - Returns: nil if there is none, or it is too early.
    mutating func take(_ now: MediaInstant) -> PointerGesture? {
        guard !queue.isEmpty, now >= next else { return nil }
        next = now + Self.interval
        return queue.removeFirst()
    }
}
