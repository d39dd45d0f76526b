import t from 'tap'
import { oldWays } from '../../../../../lib/cluster/write/validation/warnings.ts'

t.test('drivers of devices should have names in lower case', async t => {
  const sliceOf = (driver: string): Map<string, Map<string, string>> =>
    new Map([['spec', new Map([['driver', driver]])]])
  const warningsOf = (driver: string): string[] =>
    oldWays('resource.k8s.io', 'ResourceSlice', sliceOf(driver), undefined)
  t.strictSame(warningsOf('gpu.example.com'), [])
  t.strictSame(warningsOf('GPU.example.com'), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ])
})
