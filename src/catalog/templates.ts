/** Templates the platform ships: a clone of one is a draft that the org adapts. */
import type { Template } from '../contracts/template';
import { BILLING_TEMPLATES, CUSTOM_TEMPLATES, HR_TEMPLATES } from './templates-business';
import { OPERATIONS_TEMPLATES, SECURITY_TEMPLATES } from './templates-operations';

/** All templates, in the order of their categories. */
export const templates: Template[] = [
  ...OPERATIONS_TEMPLATES,
  ...SECURITY_TEMPLATES,
  ...BILLING_TEMPLATES,
  ...HR_TEMPLATES,
  ...CUSTOM_TEMPLATES,
];
