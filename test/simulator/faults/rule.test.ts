import t from 'tap'
import { parseFaultRule } from '../../../lib/simulator/faults/rule.ts'

t.test('a rule says what goes wrong, and for which requests', async t => {
  t.match(parseFaultRule('latency,delay=200ms..2s,verb=list|watch,resource=pods,share=25%'), {
    effect: { type: 'latency', minMs: 200, maxMs: 2000 },
    selection: {
      verbs: new Set(['list', 'watch']),
      resources: new Set(['pods']),
      namespaces: undefined,
      agent: undefined,
    },
    share: 0.25,
    times: Infinity,
  })
  t.match(parseFaultRule('error,code=429,retry-after=5,times=3,agent=kubectl/'), {
    effect: { type: 'error', code: 429, retryAfterSeconds: 5 },
    selection: { agent: 'kubectl/' },
    times: 3,
  })
  t.match(parseFaultRule('slow,rate=10KB/s').effect, { bytesPerSecond: 10_240 })
  t.match(parseFaultRule('reset, after=2MB').effect, { afterBytes: 2_097_152 })
  t.match(parseFaultRule('stale,age=1m').effect, { ageMs: 60_000 })
  t.match(parseFaultRule('watch-expired,after=100').effect, { afterEvents: 100 })
  t.match(parseFaultRule('node-down,every=1m,node=node-*|other,share=10%'), {
    effect: { type: 'node-down', everyMs: 60_000, forMs: 60_000 },
    actors: { nodes: new Set(['node-*', 'other']), images: undefined },
    share: 0.1,
  })
  t.match(parseFaultRule('pod-crash').effect, { minMs: 5_000, maxMs: 60_000 })
  t.match(parseFaultRule('late-scheduler,delay=1s').effect, { minMs: 1_000, maxMs: 1_000 })
  t.match(parseFaultRule('compact').effect, { type: 'compact', everyMs: undefined })
})

t.test('an error says what is wrong with a rule, and what would be right', async t => {
  for (const [text, message] of [
    ['', '"" is no fault: use latency, error,'],
    ['constructor', '"constructor" is no fault'],
    ['latency', 'delay is missing: it is a time such as 200ms'],
    ['latency,delay=2s..1s', 'delay is "2s..1s"'],
    ['latency,delay=25h', 'delay is "25h"'],
    ['error,code=404', 'code is "404": it is 429, 500, 503, 504'],
    ['error,code', '"code" is not written as name=value'],
    ['error,colour=red', 'error has no "colour": it takes code, retry-after, verb,'],
    ['error,code=500,code=500', 'code is given twice'],
    ['error,share=0%', 'share is "0%": it is a percentage such as 10%'],
    ['error,share=101%', 'share is "101%"'],
    ['error,verb=get|', 'verb is "get|": it is one name'],
    ['slow,rate=0KB/s', 'rate is "0KB/s": it is such as 10KB/s'],
    ['stale,age=0s', 'age is "0s"'],
    ['compact,verb=get', 'compact has no "verb": it takes every'],
    ['image-pull,verb=get', 'image-pull has no "verb": it takes image, node, namespace, share,'],
    ['node-down,for=0s', 'for is "0s": it is a time such as 200ms, 5s or 1m'],
  ] as const) {
    t.throws(
      () => parseFaultRule(text),
      { code: 'invalid_request', message: `fault "${text}": ${message}` },
      text,
    )
  }
})
