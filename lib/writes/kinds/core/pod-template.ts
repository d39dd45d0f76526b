/** PodTemplates: their template, which has no place in a spec, counts for the generation. */

import { checkTemplate } from '../../validation/pods/pod-spec.ts'
import { ofTemplate } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const podTemplate: BuiltInKind = kind({
  group: '',
  kind: 'PodTemplate',
  plural: 'podtemplates',
  returnsDeleted: true,
  counted: ['template'],
  podSpec: ['template', 'spec'],
  validateCreate: object => checkTemplate(object.in('template')),
  validateUpdate: (object, old) => checkTemplate(object.in('template'), old.in('template')),
  warn: (object, old) => ofTemplate(object, old),
})
