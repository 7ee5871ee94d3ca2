/** True for exactly one bare mail address, without a name, as it stands between MAIL FROM's or RCPT TO's brackets. */
export const isMailAddress = (text: string): boolean => /^[^\s@<>,;:]+@[^\s@<>,;:]+$/.test(text);
