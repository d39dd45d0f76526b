import t from 'tap'
import { isWebSocket, protocolToken, readHandshake } from '../../../lib/kube/request/web-socket.ts'

const usual = {
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  origin: 'http://x',
}
const key = usual['sec-websocket-key']
const protocols = 'sec-websocket-protocol'
const prefix = 'base64url.bearer.authorization.k8s.io.'
const tokenOf = (token: string | Buffer): string =>
  prefix + Buffer.from(token).toString('base64url')

// All of these were tried with kube-apiserver 1.36.2.

t.test('a handshake is agreed to or refused as kube-apiserver does', async t => {
  const none = { refusal: 400, text: '' }
  const forbidden = { refusal: 403, text: '' }
  const noKey = { refusal: 400, text: 'mismatch challenge/response' }
  const version = { refusal: 400, text: 'missing or bad WebSocket Version', version: '13' }
  for (const [name, headers, answer] of [
    ['usual', {}, { key, protocol: undefined }],
    ['no key', { 'sec-websocket-key': undefined }, noKey],
    ['no key and no version', { 'sec-websocket-key': '', 'sec-websocket-version': '' }, noKey],
    ['short key', { 'sec-websocket-key': 'x' }, { key: 'x' }],
    ['no version', { 'sec-websocket-version': undefined }, version],
    ['version 8', { 'sec-websocket-version': '8' }, version],
    ['no origin', { origin: undefined }, forbidden],
    ['origin null', { origin: 'null' }, forbidden],
    ['origin with a space', { origin: 'foo bar' }, forbidden],
    ['origin that is a path', { origin: '/x' }, { key }],
    ['a subprotocol', { [protocols]: 'foo' }, { key, protocol: 'foo' }],
    ['two', { [protocols]: 'a, b' }, none],
    ['one and nothing', { [protocols]: 'a,' }, none],
    ['a token and one', { [protocols]: `${tokenOf('x')}, a` }, { key, protocol: 'a' }],
    ['a token and two', { [protocols]: `a, ${tokenOf('x')}, b` }, none],
    ['a token alone is not echoed', { [protocols]: tokenOf('x') }, { protocol: undefined }],
  ] as const) {
    t.match(readHandshake({ ...usual, ...headers }), answer, name)
  }
})

t.test('a WebSocket is asked for by the header Upgrade', async t => {
  t.ok(isWebSocket({ upgrade: 'WebSocket' }))
  t.notOk(isWebSocket({ upgrade: 'h2c' }))
  t.notOk(isWebSocket({}))
})

t.test('a token is taken from a subprotocol', async t => {
  const asked = (text: string): string | undefined => protocolToken({ ...usual, [protocols]: text })
  t.equal(asked(`${tokenOf('secret')}, a`), 'secret')
  t.equal(asked(`a,${tokenOf('secret')}`), 'secret')
  t.equal(asked('a'), undefined)
  t.equal(asked(`${prefix}, a`), undefined, 'an empty one is none')
  t.equal(
    protocolToken({ [protocols]: `${tokenOf('secret')}, a` }),
    undefined,
    'of WebSockets only',
  )
})

t.test('malformed credentials are a token that nobody has', async t => {
  for (const text of [
    tokenOf('secret'),
    `${tokenOf('a')}, ${tokenOf('a')}, x`,
    `${tokenOf('a')}=, x`,
    `${prefix}A, x`,
    `${tokenOf(Buffer.of(0xff, 0xfe))}, x`,
    `${tokenOf('a\r\nX-Remote-User: admin')}, x`,
    `${tokenOf('a b')}, x`,
  ]) {
    const token = protocolToken({ ...usual, [protocols]: text }) ?? ''
    t.ok(token.startsWith(prefix), text)
    t.match(token, /^[\x21-\x7e]+$/, 'it can be sent in a header')
  }
})
