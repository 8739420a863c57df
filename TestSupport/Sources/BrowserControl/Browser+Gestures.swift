extension Browser {
    /// Gives the page the keyboard's focus, which another tab or the browser's own controls may have.
    package func activate() async throws {
        switch kind {
        case .chromium: _ = try await call("Page.bringToFront")
        case .firefox: _ = try await call("browsingContext.activate")
        }
    }

    /// Presses and releases a key.
    package func press(_ key: Key) async throws { try await act([.pressKey(key), .releaseKey(key)]) }

    /// Drags with the mouse from one place of the page to another one.
    package func drag(from: (x: Int, y: Int), to: (x: Int, y: Int)) async throws {
        try await act([
            .move(x: from.x, y: from.y), .press(button: 0), .move(x: to.x, y: to.y), .release(button: 0),
        ])
    }

    /// Turns the wheel by CSS pixels, with the pointer at a place of the page.
    package func turnWheel(x: Int, y: Int, across: Int, down: Int) async throws {
        let fields: [String: JSON] = [
            "x": .number(Double(x)), "y": .number(Double(y)), "deltaX": .number(Double(across)),
            "deltaY": .number(Double(down)),
        ]
        switch kind {
        case .chromium:
            _ = try await call("Input.dispatchMouseEvent", fields.merging(["type": "mouseWheel"]) { $1 })
        case .firefox:
            let step = JSON.object(fields.merging(["type": "scroll"]) { $1 })
            _ = try await call(
                "input.performActions",
                ["actions": [["type": "wheel", "id": "wheel", "actions": .array([step])]]])
        }
    }

    /// Touches with fingers, which move from their first places to their last ones, by way of a third, and are lifted.
    /// Chromium alone.
    package func touch(from: [(x: Int, y: Int)], to: [(x: Int, y: Int)]) async throws {
        func points(_ places: [(x: Int, y: Int)]) -> JSON {
            .array(
                places.enumerated().map { index, place in
                    ["x": .number(Double(place.x)), "y": .number(Double(place.y)), "id": .number(Double(index))]
                })
        }
        let third = zip(from, to).map { (x: $0.x + ($1.x - $0.x) / 3, y: $0.y + ($1.y - $0.y) / 3) }
        let steps = [("touchStart", from), ("touchMove", third), ("touchMove", to), ("touchEnd", [])]
        for (type, places) in steps {
            _ = try await call("Input.dispatchTouchEvent", ["type": .string(type), "touchPoints": points(places)])
        }
    }
}
