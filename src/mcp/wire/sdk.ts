// The only file that imports the SDK, with everything that is used of it. Only the files of this folder import this
// one.

export {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
export type {
  AuthProvider,
  JSONRPCMessage,
  OAuthClientProvider,
  ProtocolErrorCode,
  Transport,
} from '@modelcontextprotocol/client'
