// early.js - theme and density as they were chosen (look.js), before anything is painted: modules run later than that.
try {
    document.documentElement.className = localStorage.getItem('hookline-look') ?? '';
} catch {
    // storage that is not allowed: as the system says
}
