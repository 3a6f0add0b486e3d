// The one file that names the package of the protocol, with all that is used of it: only the files beside this one do.

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
