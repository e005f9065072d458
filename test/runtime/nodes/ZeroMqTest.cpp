//===- ZeroMqTest.cpp - Tests of the search for ZeroMQ --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameDeclarations.h"
#include "TemporaryFolder.h"

#include "runtime/src/nodes/ZeroMq.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#if __has_include(<zmq.h>)
#include <zmq.h>
#endif

using namespace tessera::rt;

namespace {
class ZeroMqSearch : public testing::Test {
protected:
  void TearDown() override { unsetenv("TESSERA_ZMQ_LIBRARY_PATH"); }
  static Library searchIn(const std::string &folders) {
    setenv("TESSERA_ZMQ_LIBRARY_PATH", folders.c_str(), 1);
    return findZeroMq();
  }
};
} // namespace

TEST_F(ZeroMqSearch, names_what_the_library_lacks) {
  Library old = searchIn("/nonexistent:" FAKE_ZMQ "/old");
  EXPECT_FALSE(old.isUsable());
  EXPECT_EQ(old.error, "expects ZeroMQ 4.3 or later, but got 4.2.0 "
                       "(" FAKE_ZMQ "/old/libzmq.so.5)");
  Library plain = searchIn(FAKE_ZMQ "/plain");
  EXPECT_EQ(plain.version, "4.3.0");
  EXPECT_EQ(plain.error,
            "expects ZeroMQ with encryption (CURVE), but 4.3.0 (" FAKE_ZMQ
            "/plain/libzmq.so.5) is built without it; Debian's libzmq5, "
            "conda's zeromq and Python's pyzmq have it");
}

TEST_F(ZeroMqSearch, goes_on_after_a_file_that_is_refused) {
  std::filesystem::create_directories(temporary("refused"));
  std::ofstream(temporary("refused/libzmq.so.5")) << "no library";
  Library library = searchIn(temporary("refused"));
  if (library.isUsable())
    EXPECT_EQ(library.path.find("refused"), std::string::npos);
  else
    EXPECT_EQ(library.error.rfind("ZeroMQ (libzmq.so.5) cannot be loaded: ", 0),
              0u)
        << library.error;
}

TEST(api_headers, zeromq) {
#if defined(ZMQ_VERSION)
#define SAME(field, function) SAME_FUNCTION(zmq, field, function)
  SAME(errorNumber, zmq_errno);
  SAME(errorText, zmq_strerror);
  SAME(newContext, zmq_ctx_new);
  SAME(setContext, zmq_ctx_set);
  SAME(shutdownContext, zmq_ctx_shutdown);
  SAME(endContext, zmq_ctx_term);
  SAME(newSocket, zmq_socket);
  SAME(closeSocket, zmq_close);
  SAME(setSocket, zmq_setsockopt);
  SAME(getSocket, zmq_getsockopt);
  SAME(monitorSocket, zmq_socket_monitor);
  SAME(bindSocket, zmq_bind);
  SAME(connectSocket, zmq_connect);
  SAME(send, zmq_send);
  SAME(poll, zmq_poll);
  SAME(initMessage, zmq_msg_init);
  SAME(initMessageSize, zmq_msg_init_size);
  SAME(initMessageData, zmq_msg_init_data);
  SAME(sendMessage, zmq_msg_send);
  SAME(receiveMessage, zmq_msg_recv);
  SAME(closeMessage, zmq_msg_close);
  SAME(messageData, zmq_msg_data);
  SAME(messageSize, zmq_msg_size);
  SAME(getMessage, zmq_msg_get);
  SAME(encodeZ85, zmq_z85_encode);
  SAME(decodeZ85, zmq_z85_decode);
  SAME(publicKey, zmq_curve_public);
  SAME_NUMBER(sizeof(zmq::MessageData), sizeof(zmq_msg_t));
  SAME_NUMBER(alignof(zmq::MessageData), alignof(zmq_msg_t));
  SAME_NUMBER(sizeof(zmq::PollItem), sizeof(zmq_pollitem_t));
  SAME_NUMBER(offsetof(zmq::PollItem, fd), offsetof(zmq_pollitem_t, fd));
  SAME_NUMBER(offsetof(zmq::PollItem, revents),
              offsetof(zmq_pollitem_t, revents));
  SAME_NUMBER(zmq::Pair, ZMQ_PAIR);
  SAME_NUMBER(zmq::Rep, ZMQ_REP);
  SAME_NUMBER(zmq::Dealer, ZMQ_DEALER);
  SAME_NUMBER(zmq::Router, ZMQ_ROUTER);
  SAME_NUMBER(zmq::Pull, ZMQ_PULL);
  SAME_NUMBER(zmq::Push, ZMQ_PUSH);
  SAME_NUMBER(zmq::RoutingId, ZMQ_ROUTING_ID);
  SAME_NUMBER(zmq::Linger, ZMQ_LINGER);
  SAME_NUMBER(zmq::ReconnectInterval, ZMQ_RECONNECT_IVL);
  SAME_NUMBER(zmq::Backlog, ZMQ_BACKLOG);
  SAME_NUMBER(zmq::ReconnectIntervalMax, ZMQ_RECONNECT_IVL_MAX);
  SAME_NUMBER(zmq::MaxMessageSize, ZMQ_MAXMSGSIZE);
  SAME_NUMBER(zmq::SendHighWater, ZMQ_SNDHWM);
  SAME_NUMBER(zmq::ReceiveHighWater, ZMQ_RCVHWM);
  SAME_NUMBER(zmq::ReceiveTimeout, ZMQ_RCVTIMEO);
  SAME_NUMBER(zmq::LastEndpoint, ZMQ_LAST_ENDPOINT);
  SAME_NUMBER(zmq::RouterMandatory, ZMQ_ROUTER_MANDATORY);
  SAME_NUMBER(zmq::Ipv6, ZMQ_IPV6);
  SAME_NUMBER(zmq::PlainServer, ZMQ_PLAIN_SERVER);
  SAME_NUMBER(zmq::PlainUsername, ZMQ_PLAIN_USERNAME);
  SAME_NUMBER(zmq::PlainPassword, ZMQ_PLAIN_PASSWORD);
  SAME_NUMBER(zmq::CurveServer, ZMQ_CURVE_SERVER);
  SAME_NUMBER(zmq::CurvePublicKey, ZMQ_CURVE_PUBLICKEY);
  SAME_NUMBER(zmq::CurveSecretKey, ZMQ_CURVE_SECRETKEY);
  SAME_NUMBER(zmq::CurveServerKey, ZMQ_CURVE_SERVERKEY);
  SAME_NUMBER(zmq::RouterHandover, ZMQ_ROUTER_HANDOVER);
  SAME_NUMBER(zmq::HandshakeInterval, ZMQ_HANDSHAKE_IVL);
  SAME_NUMBER(zmq::ConnectTimeout, ZMQ_CONNECT_TIMEOUT);
  SAME_NUMBER(zmq::MaxSockets, ZMQ_MAX_SOCKETS);
  SAME_NUMBER(zmq::More, ZMQ_MORE);
  SAME_NUMBER(zmq::SourceFd, ZMQ_SRCFD);
  SAME_NUMBER(zmq::DontWait, ZMQ_DONTWAIT);
  SAME_NUMBER(zmq::SendMore, ZMQ_SNDMORE);
  SAME_NUMBER(zmq::PollIn, ZMQ_POLLIN);
  SAME_NUMBER(zmq::Terminated, ETERM);
  SAME_NUMBER(zmq::Disconnected, ZMQ_EVENT_DISCONNECTED);
  SAME_NUMBER(zmq::HandshakeFailedNoDetail,
              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  SAME_NUMBER(zmq::HandshakeSucceeded, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  SAME_NUMBER(zmq::HandshakeFailedProtocol,
              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
  SAME_NUMBER(zmq::HandshakeFailedAuth, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
#else
  GTEST_SKIP() << "zmq.h is not found";
#endif
}
