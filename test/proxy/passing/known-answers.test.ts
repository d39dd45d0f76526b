import t from 'tap'
import type { LearnedOutput } from '../../../lib/codec/output-kind.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { unknownForm } from '../../../lib/proxy/passing/known-answers.ts'
import { planRead } from '../../../lib/kube/read-plan.ts'
import { parseQuery } from '../../../lib/kube/request/request.ts'
import { builtIn } from '../../support/kube/kube-builders.ts'

const learned: LearnedOutput = {
  generation: 1,
  hasTypedItems: false,
  emptyItems: '[]',
  emptyRows: '[]',
  emptyMetadata: '[]',
  table: undefined,
  isWatchCacheKnown: true,
  isYaml: true,
  emptyObject: undefined,
  objectsOf: () => {
    throw new Error('no object is asked for')
  },
}

const shards = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
const shardSelector = `shardSelector=${encodeURIComponent(shards)}`

t.test(
  'a page of a shard is left to an aggregated server: whether it says how many are left depends on what it was built on',
  async t => {
    const cases: readonly (readonly [string, string | undefined])[] = [
      ['', undefined],
      ['limit=3', undefined],
      [shardSelector, undefined],
      [`${shardSelector}&limit=3`, 'form'],
      // With another selector no version says so.
      [`${shardSelector}&limit=3&labelSelector=a%3Db`, undefined],
      [`${shardSelector}&limit=3&fieldSelector=metadata.name%3Da`, undefined],
    ]
    for (const [text, reason] of cases) {
      const query = parseQuery(text)
      const plan = planRead(
        {
          type: 'resource',
          schema: schemaOf(),
          resource: builtIn('configmaps'),
          verb: 'list',
          namespace: 'shop',
          name: '',
          subresource: '',
        },
        query,
        { hasShards: true },
      )
      const mediaType = {
        encoding: 'json',
        rendering: 'object',
        renderingVersion: 'v1',
        isPretty: false,
      } as const
      t.equal(unknownForm(learned, { plan, mediaType, query }), reason, text)
    }
  },
)
