import DefaultTheme from 'vitepress/theme';
import './style.css';

// The builder of the site asks for a default export.
export default DefaultTheme;
