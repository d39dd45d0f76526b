/** Speaks etcd's gRPC API message by message, with another codec than ours (protobufjs, on etcd3's
 *  .proto files), to compare the answers of two servers. Messages are plain objects: field names in
 *  camel case, 64-bit integers as text, bytes as base64, zero values left out. */

import { createRequire } from 'node:module'
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  Metadata,
  credentials,
} from '@grpc/grpc-js'
import protobuf from 'protobufjs'

export type Message = Readonly<Record<string, unknown>>

/** The answer, or the failure. */
export type Answer =
  | { readonly response: Message }
  | { readonly code: number; readonly details: string }

const protoFile = createRequire(import.meta.url)
  .resolve('etcd3/package.json')
  .replace('package.json', 'proto/rpc.proto')
const root = protobuf.loadSync(protoFile)

export class RawEtcd {
  readonly #client: Client

  /** `address` is `host:port`. */
  constructor(address: string, as: ChannelCredentials = credentials.createInsecure()) {
    this.#client = new Client(address, as, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_retries': 0,
    })
  }

  /** Calls such as `KV`, `Range`. */
  call(service: string, method: string, request: Message): Promise<Answer> {
    const { path, encode, decode } = methodOf(service, method)
    return new Promise(resolve => {
      this.#client.makeUnaryRequest(path, encode, decode, request, (error, response) => {
        if (response !== undefined) resolve({ response })
        else resolve({ code: error?.code ?? -1, details: error?.details ?? '' })
      })
    })
  }

  /** Opens a stream, such as `Watch`, `Watch`. */
  stream(
    service: string,
    method: string,
    headers: Readonly<Record<string, string>> = {},
  ): ClientDuplexStream<Message, Message> {
    const { path, encode, decode } = methodOf(service, method)
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    return this.#client.makeBidiStreamRequest(path, encode, decode, metadata)
  }

  close(): void {
    this.#client.close()
  }
}

interface Method {
  readonly path: string
  readonly encode: (message: Message) => Buffer
  readonly decode: (bytes: Buffer) => Message
}

const methods = new Map<string, Method>()

function methodOf(service: string, method: string): Method {
  const path = `/etcdserverpb.${service}/${method}`
  const known = methods.get(path)
  if (known !== undefined) return known
  const { requestType, responseType } = root.lookupService(`etcdserverpb.${service}`).methods[
    method
  ] as protobuf.Method
  const request = root.lookupType(`etcdserverpb.${requestType}`)
  const response = root.lookupType(`etcdserverpb.${responseType}`)
  const made = {
    path,
    encode: (message: Message) => Buffer.from(request.encode(request.fromObject(message)).finish()),
    decode: (bytes: Buffer) =>
      response.toObject(response.decode(bytes), { longs: String, bytes: String }) as Message,
  }
  methods.set(path, made)
  return made
}

/** The answer without what two servers need not have in common: ids of cluster and member, and the
 *  term. */
export function comparable(answer: Answer): Answer {
  if (!('response' in answer)) return answer
  return { response: withoutIds(answer.response) }
}

/** The message without ids. */
export function withoutIds(message: Message): Message {
  const header = message['header'] as Message | undefined
  if (header === undefined) return message
  const { clusterId: _cluster, memberId: _member, raftTerm: _term, ...rest } = header
  return { ...message, header: rest }
}
