"""What a worker does once; that garbage is collected sooner shows in the benchmark."""

import socket

from joinfold.runtime import workers


def test_what_is_written_to_a_connection_is_sent_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        workers._send_at_once()
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        accepted, _ = server.accept()
        with accepted:
            connection.sendall(b"still open")
            assert accepted.recv(100) == b"still open"
